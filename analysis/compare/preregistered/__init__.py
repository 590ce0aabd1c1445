"""Hypotheses fixed before training, and whether what came after kept to them.

`registration` is what is fixed and its file, `fixing` makes one of planned runs, `state` finds what was changed since,
`reading` says both above the table of `compare --preregistered NAME`; `command` is `python -m analysis preregister`.
"""
