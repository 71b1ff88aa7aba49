"""Examine a policy: conformance, audit and rank in the atlas, in one table.

    python -m scripts.examine --config-dir mine policy=NAME
    python -m scripts.examine --config-dir mine policy=NAME budget.epsilon=0.1 horizon=1e6 replications=100

Conformance is the checks of `bandits.conformance`. The audits are those that `audits.yaml` in your folder lists for the
policy, else one of 2 and one of 3 arms, of 20,000 plays on 50 steps, or on 4 times as many as it takes for rewards to
change the arms, with fewer plays then, 200 at least, unless `runs` says how many. If it cannot be played, or with
runs=0, its ledger alone is audited.
For its rank the policy is played on the instances of the atlas, and compared with every stored policy whose promise
implies its own, each at the largest such ε. Fewer than 100 plays may lack rare runs, and leave all worse ranks open.
The exit code is 1 if a check fails or the promise is violated.
"""

import math
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bandits.conformance import CHECKS
from bandits.policies.base import Policy
from experiments import intervals
from experiments.audit.rows import AUDIT_KEYS, DECLARED, NO_PROMISE, AuditRow
from experiments.audit.table import AUDITS, UNLISTED, audited, cases
from experiments.config.command_line import CommandLine, exit_on_user_error, read_command_line
from experiments.config.compose import Composer
from experiments.config.plan import Plan, plan
from experiments.errors import UserError
from experiments.evidence.contests import ERROR, entitled
from experiments.evidence.means import TOP, Method, mean_of, values_of_mean
from experiments.own_code.user_code import in_words, is_own
from experiments.progress import Progress
from experiments.simulate.complete import complete, runner_of
from experiments.store import NotStoredError, stored_cells
from experiments.store.stored import Cells, Stored
from experiments.text_table import text_table
from scripts.drawing.numbers import parameter, quantity
from scripts.pages.audits import digits
from scripts.pages.prices import Priced, priced

WIDTH = 120
STEPS = 250_000  # of an audit's plays on one input, if nothing is said
ATLAS = "atlas/bernoulli"
SEEN = round(1 / TOP)  # plays of which 1 % is a play
KEPT, FAILED = "passed", "FAILED"
KEPT_AT_MOST = "kept"
COLUMNS = ("part", "what", "result", "numbers")


@dataclass(frozen=True)
class Line:
    """A line of the table; `bad` if a check fails or a promise is violated."""

    part: str
    what: str
    result: str
    numbers: str = ""
    bad: bool = False


def conformance(policy: Policy, checks: Sequence[Callable[[Any], None]] = CHECKS) -> Iterator[Line]:
    """A line for each check of `bandits.conformance`."""
    for check in checks:
        what = check.__name__.replace("_", " ")
        try:
            check(policy)
        except AssertionError as error:
            yield Line("conformance", what, FAILED, " ".join(str(error).split()), bad=True)
        except Exception as error:  # a class of the user may raise anything
            yield Line("conformance", what, FAILED, in_words(error), bad=True)
        else:
            yield Line("conformance", what, KEPT)


def _audits(command: CommandLine, composer: Composer, job: Sequence[str], policy: str, bound: str) -> Iterator[Line]:
    """A line for each audit of the policy that the user's folders list, else for some with the parameters of `job`.

    `bound` is the word for the upper bound, `KEPT_AT_MOST`, or `DECLARED` if only the user's ledger says so.
    """
    given = {key: value for key, _, value in (text.partition("=") for text in job)}
    about = {key: command.value(job, key) for key in AUDIT_KEYS}
    named = {key: value for key, value in given.items() if key.partition(".")[0] in ("policy", "budget")}
    settings = {key: about[key] for key in AUDIT_KEYS if key in given}
    asked = {"budget.epsilon": command.config.budget.epsilon, **named, "policy": policy}
    files = [folder / AUDITS.name for folder in command.config_dirs]
    listed = [case for file in files if file.exists() for case in cases(file) if case["policy"] == policy]
    for case in listed:
        yield _line({**case, **settings}, audited({**case, **settings}, about, composer), about, bound)
    for size in {str(size | settings): size | settings for size in UNLISTED if not listed}.values():  # `arms` makes one
        yield from _unlisted(asked | size, "runs" in given, about, composer, bound)


def _unlisted(
    case: dict[str, Any], runs_given: bool, about: dict[str, Any], composer: Composer, bound: str
) -> Iterator[Line]:
    """A line of the audit with plays; one without plays if there are none, and both if the policy cannot be played."""
    played = audited(case, about, composer, math.inf if runs_given else STEPS) if int(case["runs"]) else None
    if not isinstance(played, AuditRow):
        without = {**case, "runs": 0}
        yield _line(without, audited(without, about, composer), about, bound)
    if played is not None:
        yield _line(case, played, about, bound)


def _line(case: dict[str, Any], row: AuditRow | UserError, about: dict[str, Any], bound: str) -> Line:
    if isinstance(row, AuditRow):
        return _audit(row, bound)
    message = str(row).removeprefix(f"audit of {case['policy']}: ").rpartition(", in {")[0]
    horizon = f", T = {case['horizon']}" if "horizon" in case else ""
    what = f"K = {case.get('arms', about['arms'] or 2)}{horizon}"
    return Line("audit", f"{what}{_plays(case.get('runs', about['runs']))}", "not possible", message)


def _audit(row: AuditRow, bound: str) -> Line:
    word, kept, shown = row.deciding
    if row.verdict == NO_PROMISE:
        return Line("audit", "of its promise", NO_PROMISE)
    what = f"{row.level}, K = {row.arms}, T = {parameter(row.horizon)}{_plays(row.plays)}"
    promised = row.delta_claimed if word == "δ" else row.epsilon_claimed
    refuted = " (refuted)" if row.refuted else ""
    numbers = f"{word} promised {digits(promised)}, {bound} {digits(kept)}{refuted}, shown {digits(shown)}"
    numbers = "; ".join(filter(None, [numbers, row.parameters, row.power]))
    return Line("audit", what, row.verdict, numbers, row.inexcusable)


def _plays(runs: int) -> str:
    return f", {parameter(int(runs))} plays" if runs else ""


def places_in_contests(own: Cells, stored: Cells) -> Iterator[Line]:
    """A line for each instance: the rank of the policy among the `stored` ones, and its regret over that of the best.

    All intervals together are meant for a probability of 95 %, so that the best may be named after seeing the results.
    They are approximate: where rare runs carry a mean they are wrong. A mean that is in doubt for that reason may be
    larger by any factor, and so may one of fewer than `SEEN` plays, in which the largest 1 % are not seen.
    """
    (policy,) = {one.cell.policy for one in own}
    others = Cells(entitled(stored.where(policy={"without": [policy.name]}), policy.guarantee.quoted))
    cells = priced(Cells.of([own, others]))
    played = [one for one in cells if one.stored in own]
    rivals = [
        [one for one in cells if one.place == mine.place and one.began and one.stored not in own] for mine in played
    ]
    error = ERROR / max(sum(map(len, rivals)), 1)
    for mine, there in zip(played, rivals, strict=True):
        yield _place(mine, there, error)


def _place(own: Priced, rivals: Sequence[Priced], error: float) -> Line:
    """A line about one instance."""
    columns = own.stored.columns
    seed = f", seed {columns['seed']}" if "seed" in columns else ""
    what = f"{columns['instance']}{seed}, K = {columns['arms']}"
    mine = values_of_mean(own.stored)
    regret = f"regret {quantity(float(mine.mean()))}{'' if own.began else ', some arm never pulled'}"
    if not rivals:
        return Line("atlas", what, "alone", f"{regret}; no stored policy promises as much")
    doubt = _doubt(own.stored, error)
    ratios = [_ratio(own.stored, rival.stored, bool(doubt), error) for rival in rivals]
    rank, ranks = 1 + sum(ratio.estimate > 1 for ratio in ratios), len(rivals) + 1
    least, most = 1 + sum(ratio.low > 1 for ratio in ratios), ranks - sum(ratio.high < 1 for ratio in ratios)
    best, ratio = min(zip(rivals, ratios, strict=True), key=lambda pair: values_of_mean(pair[0].stored).mean())
    times = f"{quantity(ratio.estimate)} ({quantity(ratio.low)} to {quantity(ratio.high)})"
    numbers = f"{regret}, {times} times that of {best.label} at ε = {parameter(best.budget)}"
    numbers = "; ".join(filter(None, [numbers, f"in doubt: {doubt}" if doubt else ""]))
    return Line("atlas", what, f"{rank} of {ranks} ({least} to {most})", numbers)


def _ratio(own: Stored, rival: Stored, doubted: bool, error: float) -> intervals.Interval:
    """The ratio of both means: without an upper end if the first is `doubted`, without a lower one if the second is."""
    ratio = intervals.ratio(values_of_mean(own), values_of_mean(rival), error)
    low = 0.0 if _doubt(rival, error) else ratio.low
    return ratio._replace(low=low, high=math.inf if doubted else ratio.high)


def _doubt(stored: Stored, error: float) -> str:
    """Why rare runs may carry a mean, in words; empty if there is no sign of it."""
    mean, runs = mean_of(stored, error), len(values_of_mean(stored))
    if mean.method is Method.PLAIN and runs < SEEN:
        return f"{runs} plays may lack the rare runs that carry a mean, take replications={SEEN}"
    return mean.doubt


def examined_table(lines: Sequence[Line]) -> str:
    """The lines as text, in columns."""
    rows = [COLUMNS, *((line.part, line.what, line.result, line.numbers) for line in lines)]
    return "\n".join(text_table(rows))


def heading(planned: Plan) -> str:
    """What is examined: the policy, its parameters and its promise."""
    policy = planned.requests[0].cell.policy
    values = {name: parameter(value) for name, value in vars(policy).items() if name not in ("epsilon", "delta")}
    parameters = ", ".join(f"{name}={value}" for name, value in values.items())
    promise = policy.guarantee
    delta = f", δ = {parameter(promise.delta)}" if promise.delta else ""
    promised = (
        f"promises ε = {parameter(promise.epsilon)}{delta} ({promise.scope})" if promise.private else promise.absence
    )
    return f"{policy.name}{f' ({parameters})' if parameters else ''}: {promised}"


def footing(planned: Plan) -> str:
    """How to read the lines about the atlas."""
    request = planned.requests[0]
    return textwrap.fill(
        f"atlas: T = {parameter(request.cell.horizon)}, {request.replications} plays on each instance. The rank is "
        "among the stored policies whose promise implies this one; in brackets the ranks that Fieller's intervals of "
        "ratios leave open, all together at 95 %: approximate, and wrong where rare runs carry a mean. A mean in doubt "
        "leaves open all worse ranks.",
        WIDTH,
    )


def of_the_atlas(planned: Plan, composer: Composer) -> Cells:
    """The stored cells of the atlas at the horizon of `planned`. Raises `UserError` for a horizon that it lacks."""
    (horizon,) = {request.cell.horizon for request in planned.requests}
    try:
        return stored_cells(plan([[f"+experiment={ATLAS}", f"horizon={horizon}"]], composer)[0])
    except NotStoredError:
        horizons = sorted({request.cell.horizon for request in plan([[f"+experiment={ATLAS}"]], composer)[0].requests})
        if horizon in horizons:
            raise
        raise UserError(
            f"horizon: the atlas has {', '.join(map(parameter, horizons))}; got {parameter(horizon)}"
        ) from None


def examined(command: CommandLine, job: list[str]) -> list[Line]:
    """Print the table about the policy of a job; simulates what is missing. Raises `UserError`."""
    planned = plan([job], command.composer)[0]
    composer = Composer(command.config_dirs)  # of experiments and audits, which have other keys than this command
    name, policy = planned.composed.choices["policy"], planned.requests[0].cell.policy
    if not any(text.startswith("policy=") for text in job):
        raise UserError("policy: which one? give its name, as in policy=NAME")
    if not isinstance(policy, Policy):
        raise UserError(f"policy={name}: is not a bandit policy; the atlas compares only those")
    if planned.requests[0].replications < 2:
        raise UserError("replications: must be at least 2 for an interval, got 1")
    stored = of_the_atlas(planned, composer)
    instances = {one.cell.instance for one in stored}
    for instance in (request.cell.instance for request in planned.requests):
        if instance not in instances:
            raise UserError(f"instance: {instance} is not in the atlas; leave it out, or take one that is in {ATLAS}")
    bound = DECLARED if is_own(policy) else KEPT_AT_MOST
    with Progress("checking", {"checks": len(CHECKS)}) as progress:
        lines = [progress.after(line, checks=1) for line in conformance(policy)]
    lines += dict.fromkeys(_audits(command, composer, job, name, bound))  # two audits that a user lists may be the same
    print(complete([planned], runner_of([planned])))
    lines += places_in_contests(stored_cells(planned), stored)
    print("\n".join(["", heading(planned), "", examined_table(lines), "", footing(planned), ""]), flush=True)
    return lines


def main() -> None:
    """Entry point of `python -m scripts.examine`."""
    command = read_command_line("examine")
    lines = [line for job in command.jobs for line in examined(command, job)]
    sys.exit(1 if any(line.bad for line in lines) else 0)


if __name__ == "__main__":
    exit_on_user_error(main)
