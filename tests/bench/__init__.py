"""Ratios of speed against the goals of the design: `make bench`, or `python -m tests.bench --only G1,G9 --rounds 7`.

Only ratios are judged. Each is of two rates taken in one run, side by side, after the results of both sides were compared: a
faster wrong answer fails. Absolute rates are printed to show where the ratio comes from and change from machine to machine.
"""
