"""Hard tests at full size: scripts that print what they did, run by hand. The test suite runs them in small.

python -m tests.torture.crash_points
python -m tests.torture.damage
python -m tests.torture.two_writers
python -m tests.torture.group_kills
"""
