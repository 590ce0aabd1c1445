"""Hypotheses fixed before training, and whether the study kept to them.

`registration` is a hypothesis with its runs and test, and its file; `command` is `python -m analysis preregister`,
which makes one of planned runs; `state` finds later changes; `reading` shows both above the table of
`compare --preregistered NAME`.
"""
