"""What a newcomer asks, written down with the guide: where to click, and what then can be read."""

from typing import NamedTuple


class Question(NamedTuple):
    """A question.

    Attributes
    ----------
    asked: in the words of a newcomer.
    clicks: from the first page on, the text of each link; at most three.
    answer: words that stand on the page where this leads.
    """

    asked: str
    clicks: tuple[str, ...]
    answer: tuple[str, ...]


QUESTIONS = (
    Question("Is DP-SE private if I publish all arms?", ("Privacy",), ("dp_se", "transcript", "tight")),
    Question("Which claims of the papers fail, and why?", ("Claims",), ("fails", "Evidence", "Cause", "by-5x")),
    Question("What does ε = 0.5 cost at 20,000 users?", ("Start",), ("20,000 users", "DP-KLUCB", "nearly as many")),
    Question("Which policy do I take if I trust nobody?", ("Choose a policy", "atlas"), ("local, ε",)),
    Question("What do kept, shown and slack mean?", ("Glossary",), ("kept and shown", "Slack", "half of the budget")),
    Question("How do I add a policy of my own?", ("Your own policy",), ("experiments.new policy NAME", "ledger")),
    Question("How do I cite this?", (), ("CITATION.cff",)),
    Question(
        "How long does simulating all take?", ("Check this repository",), ("make reproduce", "minutes on one core")
    ),
    Question(
        "What does the key recorded do?",
        ("Reference", "Keys"),
        ("approximate number of stored checkpoints",),
    ),
    Question("What does experiments.store gc remove?", ("Reference", "Commands"), ("gc lists files",)),
    Question("What is printed wrong in wang2024?", ("Errata", "Wang and Zhu (2024)"), ("Printed", "Found", "Matters")),
    Question(
        "How do I resume a sweep that was killed?",
        ("Sweeps and long runs",),
        ("The same command resumes it",),
    ),
    Question(
        "Which function computes the bound on DP-SE?",
        ("API", "bandits.bounds.sajed2019"),
        ("dp_se_regret", "gaps", "Theorem"),
    ),
)
