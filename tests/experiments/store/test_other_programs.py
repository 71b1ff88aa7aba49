"""Other programs read the columns of a published pack: policy, budget, horizon and regret, without our footers.

None of them is needed otherwise, so they are in no extra: the workflow `test` installs them.
"""

import json
import shutil
import subprocess

import pytest

from experiments import load
from experiments.config.compose import REPOSITORY

PACK = REPOSITORY / "results" / "dtol_bernoulli" / "regret.parquet"
GROUP = ["policy", "epsilon", "delta", "horizon"]
R = """
table <- as.data.frame(arrow::read_parquet(commandArgs(TRUE)[1]))
for (name in c("epsilon", "delta", "horizon")) table[[name]] <- sprintf("%.17g", as.numeric(table[[name]]))
table$final <- sapply(table$regret, function(values) tail(as.numeric(values), 1))
means <- aggregate(final ~ policy + epsilon + delta + horizon, table, mean)
cat(sprintf('["%s", "%s", "%s", "%s", %.17g]\\n', means$policy, means$epsilon, means$delta, means$horizon, means$final))
"""


def by_load():
    table = load(instance=PACK.parent.name, record="regret")
    return table[table.t == table.horizon].groupby(GROUP, observed=True).regret.mean().to_dict()


def by_polars():
    polars = pytest.importorskip("polars")
    final = polars.col("regret").list.last().mean()
    rows = polars.scan_parquet(PACK).group_by(GROUP).agg(final).collect().iter_rows()
    return {tuple(group): mean for *group, mean in rows}


def by_duckdb():
    duckdb = pytest.importorskip("duckdb")
    asked = f"SELECT {', '.join(GROUP)}, avg(regret[len(regret)]) FROM read_parquet('{PACK}') GROUP BY ALL"
    return {tuple(group): mean for *group, mean in duckdb.sql(asked).fetchall()}


def by_r():
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed here")
    if subprocess.run(["Rscript", "-e", "library(arrow)"], capture_output=True).returncode:
        pytest.skip("R has no package arrow here")
    printed = subprocess.run(["Rscript", "-e", R, PACK], capture_output=True, text=True, check=True).stdout
    return {(name, *map(float, group)): mean for name, *group, mean in map(json.loads, printed.splitlines())}


@pytest.mark.slow
@pytest.mark.parametrize("read", [by_polars, by_duckdb, by_r])
def test_another_program_reads_what_load_reads(read):
    means, due = read(), by_load()
    assert len(due) > 10
    assert len({delta for _, _, delta, _ in due}) > 1
    assert means == pytest.approx(due, rel=1e-12)
