"""What every torch network looks like here: the interface, memory cores, and the common actor-critic shape."""

from sparring.policy.actor_critic import ActorCritic, mlp
from sparring.policy.interface import Absorbing, Memory, Output, Policy, parameter_count
from sparring.policy.memory import LstmMemory, NoMemory, memory_core

__all__ = [
    "Absorbing",
    "ActorCritic",
    "LstmMemory",
    "Memory",
    "NoMemory",
    "Output",
    "Policy",
    "memory_core",
    "mlp",
    "parameter_count",
]
