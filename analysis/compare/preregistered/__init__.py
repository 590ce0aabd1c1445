"""Hypotheses fixed before training, and whether the study kept to them.

`registration` is a hypothesis with its runs and test, and its file. `state` finds later changes. `command` is
`python -m analysis preregister`; it registers planned runs. `analysis.compare.command` shows registration and state
above the table of `compare --preregistered NAME`.
"""
