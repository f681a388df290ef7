"""How fast credentials are masked."""

import random
import time
from collections.abc import Iterator
from statistics import median

from bench_data import Words
from bench_place import Place
from bench_table import Line


def mask(_place: Place, rounds: int) -> Iterator[Line]:
    """Masking of what people and agents write, in long texts and in short ones."""
    from mash_plugin.privacy.credentials import mask as masked

    words, secret = Words(random.Random(1)), "gh" + "p_" + "a1B2" * 9  # noqa: S311 - repeatable
    pieces = {
        "English": lambda: f"{words.prose(900)} The token, the key and the password stay. ",
        "Chinese": lambda: words.chinese(900),
        "code": lambda: f"{words.rng.choice(words.blocks)}\ntoken = get_token(key)\n",
    }
    for language, piece in pieces.items():
        text = ""
        while len(text.encode()) < 1_000_000:
            text += piece()
        text = f"{text[:-500_000]} {secret} {text[-500_000:]}"
        for size, note in ((len(text), "one text of 1 MB"), (4_000, "messages of 4,000")):
            parts = [text[at : at + size] for at in range(0, len(text), size)]
            times = []
            for _ in range(min(rounds, 9)):
                begin = time.perf_counter()
                shown = [masked(part) for part in parts]
                times.append(time.perf_counter() - begin)
            assert "[masked GitHub token]" in "".join(shown)
            speed = len(text.encode()) / 1e6 / median(times)
            yield Line(f"masking of {language}, {note}", speed, "MB/s", least=20)
