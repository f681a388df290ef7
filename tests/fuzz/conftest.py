"""The place in which hooks are asked."""

from tests.hooks_answers.conftest import desk

__all__ = ["desk"]
