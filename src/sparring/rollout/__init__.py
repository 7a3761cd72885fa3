"""Playing: the collector seats players in an arena and yields episodes."""

from sparring.rollout.collector import Collector
from sparring.rollout.lineup import Lineup, everyone, taking_turns

__all__ = ["Collector", "Lineup", "everyone", "taking_turns"]
