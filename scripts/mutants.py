"""Do the tests notice wrong code? Makes random mutations of the core, one at a time, and runs the tests on each.

`make mutants` (also in `make test-long`): 200 mutations from a fixed seed; exit 1 where fewer than 90 % are caught or
a survivor has no line in scripts/mutants_explained.toml, exit 2 where the tests fail without any mutation.
Each mutant gets the tests that mirror its module first, then those of the core, then all fast ones. A mutant that
hangs is ended and counts as caught. One that is explained counts as a survivor without being tried; `--all` tries
those too, and so shows which of them a test catches by now.
Works on copies of the tree in a temporary folder; the checkout is never changed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

from scripts.mutant_run import LEAST_LIMIT_S, Selection, Tree, TreeFails, fast_tests, mirror_tests
from scripts.mutation import Mutation, mutations

ROOT = Path(__file__).resolve().parent.parent
EXPLAINED = Path(__file__).with_name("mutants_explained.toml")
REQUIRED_SHARE = 0.9


class Mutant(NamedTuple):
    """A mutation of a file of the tree; `number` is its place in `mutations(text)`, `text` its line in the source."""

    file: str
    number: int
    mutation: Mutation
    text: str

    def __str__(self) -> str:
        m = self.mutation
        return f"{self.file}:{m.line}:{m.column + 1} {m.kind}: {m.before} → {m.after}"


class Verdict(NamedTuple):
    """Which test caught a mutant (`caught_by` empty: none did), and how long that took."""

    mutant: Mutant
    caught_by: str
    took_s: float


def choose(root: Path, only: str, n: int, seed: int) -> list[Mutant]:
    """Draw `n` mutants (0: all) of the core, or of the file or folder `only`, in the order of the source. Each draws
    its own lot from the text of its line and its change, so that other lines of the core don't change the choice."""
    under = root / (only or "src/gangpool/core")
    found = []
    lots: dict[Mutant, bytes] = {}
    seen: Counter[str] = Counter()
    for path in sorted(under.rglob("*.py")) if under.is_dir() else [under]:
        source = path.read_text(encoding="utf-8")
        lines = source.split("\n")
        for number, mutation in enumerate(mutations(source)):
            mutant = Mutant(str(path.relative_to(root)), number, mutation, lines[mutation.line - 1].strip())
            ticket = f"{seed} {mutant.file} {mutant.text} {mutation.kind} {mutation.before} {mutation.after}"
            seen[ticket] += 1
            lots[mutant] = hashlib.sha256(f"{ticket} {seen[ticket]}".encode()).digest()
            found.append(mutant)
    if n and n < len(found):
        return sorted(sorted(found, key=lots.__getitem__)[:n])
    return found


class Hunt:
    """Runs the tests on mutants, several trees at a time. Mutable: the trees, which are lent to one mutant each."""

    def __init__(self, root: Path, folder: Path, jobs: int, tests: Sequence[str]) -> None:
        self.jobs = jobs
        self._trees: SimpleQueue[Tree] = SimpleQueue()
        for number in range(jobs):
            self._trees.put(Tree(root, folder / str(number)))
        self._fast = [list(tests)] if tests else fast_tests(root)
        self._root = root
        self._selections: dict[str, list[Selection]] = {}

    def prepare(self, files: Iterable[str], least_limit_s: float = LEAST_LIMIT_S) -> None:
        """Run each selection once without a mutation: it must pass, and its time sets the limit for a hang."""
        tree = self._trees.get()
        try:
            all_fast = [tree.measure("fast tests", tests, least_limit_s) for tests in self._fast]
            for file in files:
                mirror = mirror_tests(self._root, file)
                first = [tree.measure(f"tests of {file}", mirror, least_limit_s)] if mirror else []
                self._selections[file] = [*first, *all_fast]
        finally:
            self._trees.put(tree)

    def run(self, mutants: Sequence[Mutant]) -> list[Verdict]:
        """Try all mutants and print each verdict as it is known."""
        verdicts = []
        with ThreadPoolExecutor(self.jobs) as pool:
            for count, verdict in enumerate(pool.map(self._try, mutants), 1):
                outcome = f"caught by {verdict.caught_by}" if verdict.caught_by else "SURVIVED"
                print(f"[{count}/{len(mutants)}] {verdict.mutant}: {outcome} ({verdict.took_s:.1f} s)", flush=True)
                verdicts.append(verdict)
        return verdicts

    def _try(self, mutant: Mutant) -> Verdict:
        tree = self._trees.get()
        took_s = 0.0
        try:
            with tree.mutated(mutant.file, mutant.number):
                for selection in self._selections[mutant.file]:
                    result = tree.test(selection)
                    took_s += result.took_s
                    if result.failed:
                        return Verdict(mutant, result.failed, took_s)
            return Verdict(mutant, "", took_s)
        finally:
            self._trees.put(tree)


def is_explained(mutant: Mutant, lines: Iterable[dict[str, Any]]) -> bool:
    """Whether a survivor has its line: same file, same text of the source line, same change, and a reason."""
    change = f"{mutant.mutation.before} → {mutant.mutation.after}"
    return any(
        (line.get("file"), line.get("line"), line.get("mutation")) == (mutant.file, mutant.text, change)
        and bool(line.get("reason"))
        for line in lines
    )


def report(verdicts: Sequence[Verdict], explained: Sequence[dict[str, Any]]) -> tuple[str, bool]:
    """Return the closing text, and whether all is well."""
    survivors = [verdict.mutant for verdict in verdicts if not verdict.caught_by]
    unexplained = [mutant for mutant in survivors if not is_explained(mutant, explained)]
    n_caught = len(verdicts) - len(survivors)
    share = n_caught / len(verdicts) if verdicts else 1.0
    text = []
    if unexplained:
        text += ["", f"Survivors without an explanation; add a test, or these lines to scripts/{EXPLAINED.name}:"]
    for mutant in unexplained:
        change = f"{mutant.mutation.before} → {mutant.mutation.after}"
        rows = {"file": mutant.file, "line": mutant.text, "mutation": change, "reason": ""}
        text += ["", f"[[survivor]]  # line {mutant.mutation.line}"]
        text += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in rows.items()]
    text += [
        "",
        f"mutants: {n_caught} of {len(verdicts)} caught ({share:.1%}, required {REQUIRED_SHARE:.0%}), "
        f"{len(survivors)} survived, {len(unexplained)} of them without an explanation",
    ]
    return "\n".join(text), share >= REQUIRED_SHARE and not unexplained


def _as_json(verdicts: Sequence[Verdict], seed: int) -> str:
    rows = [
        {"file": v.mutant.file, "text": v.mutant.text, **v.mutant.mutation._asdict(), "caught_by": v.caught_by or None}
        for v in verdicts
    ]
    return json.dumps({"seed": seed, "mutants": rows}, indent=1, ensure_ascii=False) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Command line: see --help."""
    parser = argparse.ArgumentParser(prog="python -m scripts.mutants", description=__doc__)
    parser.add_argument("--n", type=int, default=200, help="how many mutants; 0: all (default 200)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the choice (default 1)")
    parser.add_argument("--only", metavar="FILE", default="", help="mutate this file or folder (default the core)")
    parser.add_argument("--tests", nargs="*", default=[], help="tests to run in place of all fast ones")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (default 2)")
    parser.add_argument("--json", type=Path, default=ROOT / ".cache/mutants.json", help="file for the verdicts")
    parser.add_argument("--all", action="store_true", help="try those that are explained as survivors too")
    parser.add_argument("--list", action="store_true", help="only list the mutants")
    options = parser.parse_args(argv)

    mutants = choose(ROOT, options.only, options.n, options.seed)
    if options.list:
        print("\n".join(map(str, mutants)))
        return 0
    explained = tomllib.loads(EXPLAINED.read_text(encoding="utf-8")).get("survivor", [])
    told = [mutant for mutant in mutants if not options.all and is_explained(mutant, explained)]
    verdicts = [Verdict(mutant, "", 0.0) for mutant in told]
    tried = [mutant for mutant in mutants if mutant not in told]
    with tempfile.TemporaryDirectory(prefix="gangpool-mutants-") as folder:
        hunt = Hunt(ROOT, Path(folder), options.jobs, options.tests)
        try:
            hunt.prepare(sorted({mutant.file for mutant in tried}))
        except TreeFails as error:
            print(error, file=sys.stderr)
            return 2
        verdicts += hunt.run(tried)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(_as_json(verdicts, options.seed), encoding="utf-8")
    text, is_well = report(verdicts, explained)
    print(text)
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
