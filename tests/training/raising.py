"""A run whose callback raises after its second update, in each of several processes; see `test_ranks`."""

import sys

import sparring


def fail(update):
    if update.update == 2:
        raise ValueError("not like this")


if __name__ == "__main__":
    _, run, *words = sys.argv
    sparring.train("kuhn-ppo", *words, run=run, on_update=fail)
