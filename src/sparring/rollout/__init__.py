"""Playing: the collector seats players in an arena and yields episodes; workers play an arena in other processes.

`open_episodes` keeps what was seen, `lineup` says who sits where, `slabs` is the memory that workers share, `store`
the episodes on disk, `wire` what crosses to another host.
"""

from sparring.rollout.collector import Collector
from sparring.rollout.lineup import Lineup, Meetings, everyone, taking_turns
from sparring.rollout.workers import WorkerArena

__all__ = ["Collector", "Lineup", "Meetings", "WorkerArena", "everyone", "taking_turns"]
