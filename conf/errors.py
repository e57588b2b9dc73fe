"""The two kinds of error.

HoldtrueError
└── UserError      the user can fix it: printed as one line, exit status 2, no traceback

Everything else is a bug and shows its traceback. What goes wrong with one row of data
(an engine failure, a program that crashes) is neither: it is a value in that row.
"""


class HoldtrueError(Exception):
    """Base of every error that Holdtrue raises on purpose."""


class UserError(HoldtrueError):
    """A mistake the user can mend; the message says what, where and how to fix it."""
