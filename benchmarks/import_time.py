"""CPU time of importing fastrag, in a fresh interpreter each time, less that of starting Python alone.

python benchmarks/import_time.py [--rounds 10]
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys

STATEMENTS = {
    "python alone": "pass",
    "import fastrag": "import fastrag",
    "import fastrag.benchmark": "import fastrag.benchmark",
}
BUDGETS_MS = {"import fastrag": 150, "import fastrag.benchmark": 200}


def cpu_ms(statement: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", statement], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) * 1000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args().rounds
    best = {name: min(cpu_ms(statement) for _ in range(rounds)) for name, statement in STATEMENTS.items()}
    within = True
    for name, time_ms in best.items():
        over = time_ms - best["python alone"]
        budget = BUDGETS_MS.get(name)
        verdict = "" if budget is None else f"  (+{over:.0f} ms; budget {budget} ms)"
        within &= budget is None or over <= budget
        print(f"{name:25} {time_ms:6.0f} ms CPU{verdict}")
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
