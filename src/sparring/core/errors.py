"""The two kinds of failure a user meets, each printed as one line."""


class InputError(Exception):
    """The user's input cannot be used: the message says what, where and what is allowed. Exit code 2."""


class RunError(Exception):
    """Work that had started cannot go on: the message says what happened and what to do. Exit code 1."""
