"""How good the judgement is, on labelled sets of the project's own."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench_place import ROOT, Place
from bench_table import Line
from judge_agent_lines import Case as LineCase
from judge_agent_lines import category_of
from judge_agent_lines import figures as line_figures
from judge_prompts import Case as PromptCase
from judge_prompts import figures as prompt_figures
from judge_prompts import noted, part_of, read_rows

from mash_plugin.chats.search import search_chats

FIXTURES = ROOT / "tests" / "fixtures"
FIRST = 5


def quality(place: Place, _rounds: int) -> Iterator[Line]:
    """Chat search by its questions, and what sounds lasting by labelled lines."""
    yield from of_search(place)
    prompts = read_rows(FIXTURES / "prompts-labelled.jsonl")
    held = [PromptCase(row, noted(row)) for row in prompts if part_of(row) == "held"]
    noticed = prompt_figures(held)["all"]
    yield from of_labels("note beside a prompt held back", noticed, noticed["prompts"])
    rows = read_rows(FIXTURES / "agent-lines-labelled.jsonl")
    kept = line_figures([LineCase(row, category_of(row)) for row in rows])["all"]
    yield from of_labels("key lines of agents", kept, kept["lines"])


def of_labels(what: str, figures: dict[str, float], count: int) -> Iterator[Line]:
    """Precision and recall over so many labelled lines."""
    note = f"{count} labelled, {figures['positives']} of them to be found"
    yield Line(f"{what}, precision", figures["precision"], "", note=note)
    yield Line(f"{what}, recall", figures["recall"], "", note=note)


def of_search(place: Place) -> Iterator[Line]:
    """Where the answers of the labelled questions stand among what is found."""
    from tests.chats.conftest import NOW, Chats
    from tests.chats.search_corpus import LANGUAGES, questions, write_chats

    chats = Chats(Path(tempfile.mkdtemp(dir=place.root)))
    answers = write_chats(chats.claude, chats.codex)
    chats.index.refresh_all(NOW)
    ranks = []
    with chats.database.reading() as db:
        for question in questions():
            hits = [hit.message_id for hit in search_chats(db, question.text)[0]]
            answer = answers[question.answer]
            ranks.append(hits.index(answer) + 1 if answer in hits else 0)
    chats.database.close()
    note = f"{len(ranks)} questions in {len(LANGUAGES)} languages, labelled by hand"
    hit = sum(0 < rank <= FIRST for rank in ranks) / len(ranks)
    yield Line(
        f"chat search, answer among the first {FIRST}", hit, "", None, note, 0.9, "short/search"
    )
    reciprocal = sum(1 / rank for rank in ranks if rank) / len(ranks)
    yield Line("chat search, mean reciprocal rank", reciprocal, "", note=note)
