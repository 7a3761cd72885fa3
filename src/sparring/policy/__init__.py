"""What every torch network looks like here: interface, memory cores, value heads, the common actor-critic shape."""

from sparring.policy.actor_critic import ActorCritic, mlp
from sparring.policy.causal import CausalMemory
from sparring.policy.interface import (
    Absorbing,
    Bins,
    Memory,
    Output,
    Packing,
    Policy,
    Versatile,
    parameter_count,
    parameter_text,
    policy_for,
    set_checkpointing,
)
from sparring.policy.memory import Core, LstmMemory, MemoryName, NoMemory, memory_core
from sparring.policy.named import NamedEmbedding
from sparring.policy.recall import Recall
from sparring.policy.turns import TurnMemory
from sparring.policy.value import BINS, expected_value, two_hot, value_error, value_support

__all__ = [
    "BINS",
    "Absorbing",
    "ActorCritic",
    "Bins",
    "CausalMemory",
    "Core",
    "LstmMemory",
    "Memory",
    "MemoryName",
    "NamedEmbedding",
    "NoMemory",
    "Output",
    "Packing",
    "Policy",
    "Recall",
    "TurnMemory",
    "Versatile",
    "expected_value",
    "memory_core",
    "mlp",
    "parameter_count",
    "parameter_text",
    "policy_for",
    "set_checkpointing",
    "two_hot",
    "value_error",
    "value_support",
]
