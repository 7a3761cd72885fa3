"""A battle in words: Showdown's protocol lines as English sentences, for replay pages and for people who play by hand.

    narrator = Narrator({"p1": "Ann", "p2": "Ben"})            # a spectator's words: "Ann's Mew used Surf."
    narrator = Narrator({"p1": "Ann", "p2": "Ben"}, you="p1")  # a player's words: "Your Mew used Surf."
    narrator.tell("|move|p1a: Mew|Surf|p2a: Muk")

Lines that change nothing worth telling (rules, time stamps, upkeep) have no words. An effect without words of its own
is told by its name: a new game's effects are named, never left out.
"""

import re
from collections.abc import Mapping, Sequence

_TAG = re.compile(r"\[(\w+)\] ?(.*)")
_POSITION = re.compile(r"(p[12])[ab]?: ")

STATS: Mapping[str, str] = {
    "atk": "Attack",
    "def": "Defense",
    "spa": "Special Attack",
    "spd": "Special Defense",
    "spe": "Speed",
    "accuracy": "accuracy",
    "evasion": "evasiveness",
}
WEATHERS: Mapping[str, str] = {
    "SunnyDay": "harsh sunlight",
    "RainDance": "rain",
    "Sandstorm": "a sandstorm",
    "Hail": "hail",
    "Snow": "snow",
    "Snowscape": "snow",
    "DesolateLand": "extremely harsh sunlight",
    "PrimordialSea": "heavy rain",
    "DeltaStream": "strong winds",
}
_STATUSES = {
    "brn": "was burned",
    "par": "was paralysed",
    "slp": "fell asleep",
    "frz": "was frozen solid",
    "psn": "was poisoned",
    "tox": "was badly poisoned",
}
_CURES = {"brn": "its burn", "par": "paralysis", "slp": "sleep", "frz": "the ice", "psn": "poison", "tox": "poison"}
_CAUSES = {"brn": "burn", "psn": "poison", "tox": "poison"}
_CANNOT = {
    "slp": "is fast asleep",
    "par": "is fully paralysed",
    "frz": "is frozen solid",
    "flinch": "flinched",
    "recharge": "must recharge",
    "nopp": "has no PP left",
    "partiallytrapped": "cannot move while it is bound",
    "Attract": "is immobilised by love",
    "Truant": "is loafing around",
}
_STARTS = {
    "confusion": "became confused",
    "Substitute": "put up a substitute",
    "Leech Seed": "was seeded",
    "Dynamax": "dynamaxed",
    "Taunt": "fell for the taunt",
    "Encore": "must do an encore",
    "Yawn": "grew drowsy",
    "Attract": "fell in love",
    "Curse": "was cursed",
    "Focus Energy": "is getting pumped",
    "Reflect": "gained armour from Reflect",
    "Light Screen": "is protected by Light Screen",
    "Mist": "is shrouded in mist",
    "Future Sight": "foresaw an attack",
    "Doom Desire": "chose Doom Desire as its destiny",
}
_ENDS = {
    "confusion": "snapped out of its confusion",
    "Substitute": "lost its substitute",
    "Leech Seed": "was freed from Leech Seed",
    "Dynamax": "returned to its normal size",
    "Taunt": "shook off the taunt",
    "Encore": "is free of the encore",
    "Illusion": "lost its illusion",
    "Future Sight": "took the Future Sight attack",
    "Doom Desire": "took the Doom Desire attack",
}
_ACTIVATES = {
    "confusion": "is confused",
    "Protect": "protected itself",
    "Substitute": "let its substitute take the hit",
    "Endure": "endured the hit",
    "Sturdy": "held on with Sturdy",
    "Focus Sash": "held on with its Focus Sash",
    "Destiny Bond": "took its attacker down with it",
    "trapped": "can no longer escape",
}
_SINGLE_TURNS = {
    "Protect": "protected itself",
    "Detect": "protected itself",
    "Endure": "braced itself",
    "Focus Punch": "is tightening its focus",
    "Follow Me": "became the centre of attention",
    "Rage Powder": "became the centre of attention",
    "Helping Hand": "is ready to be helped",
    "Roost": "landed",
}
_ABOUT_ONE = {
    "-crit": "Critical hit on {0}.",
    "-supereffective": "It is super effective on {0}.",
    "-resisted": "It is not very effective on {0}.",
    "-immune": "It does not affect {0}",
    "-notarget": "But there was no target",
    "-fail": "But it failed",
    "-mustrecharge": "{0} must recharge",
    "-clearboost": "{0}'s stat changes were removed",
    "-clearpositiveboost": "{0}'s raised stats were reset",
    "-clearnegativeboost": "{0}'s lowered stats were reset",
    "-invertboost": "{0}'s stat changes were turned upside down",
    "-endability": "{0}'s ability was suppressed",
    "-primal": "{0} went through primal reversion",
    "-burst": "{0} burst into another form",
    "-zpower": "{0} surrounded itself with Z-power",
    "-zbroken": "{0} could not fully protect itself",
    "-cureteam": "{0}'s team was cured of its status conditions",
    "faint": "{0} fainted.",
}
"""Sentences about one Pokémon that need nothing else."""
_NOBODY = {
    "-clearallboost": "All stat changes were removed.",
    "-swapsideconditions": "The two sides swapped what lay on them.",
    "-nothing": "But nothing happened.",
    "-ohko": "It is a one-hit knock-out.",
    "-center": "The battlers moved to the centre.",
    "-combine": "The two moves became one.",
    "tie": "The battle is a tie.",
}


class Narrator:
    """The words of one battle; it remembers HP, so that a hit can be told as what it cost."""

    def __init__(self, names: Mapping[str, str], *, you: str = "") -> None:
        """`names` of the players by side (`p1`, `p2`); `you` is the side of the person who reads."""
        self._names = names
        self._you = you
        self._left: dict[str, float] = {}

    def tell(self, line: str) -> str:
        """The sentence that a protocol line stands for; "" if there is nothing to tell."""
        kind, *rest = line.split("|")[1:] or [""]
        tags: dict[str, str] = {}
        words = []
        for part in rest:
            tag = _TAG.fullmatch(part)
            if tag is None:
                words.append(part)
            else:
                tags[tag.group(1)] = tag.group(2)
        try:
            told = self._tell(kind, words, tags)
        except (LookupError, ValueError):
            return ""  # a line cut short by whoever sent it
        if "silent" in tags:
            return ""
        return told[:1].upper() + told[1:] if self._you else told

    def _tell(self, kind: str, words: Sequence[str], tags: Mapping[str, str]) -> str:
        if kind in _NOBODY:
            return _NOBODY[kind]
        if kind in _ABOUT_ONE:
            text = _ABOUT_ONE[kind].format(self._pokemon(words[0]) if words else "it")
            return text if text.endswith(".") else text + _because(tags) + "."
        if kind in (
            "switch",
            "drag",
            "replace",
            "detailschange",
            "-formechange",
            "-terastallize",
            "-mega",
            "-transform",
        ):
            return self._appearance(kind, words, tags)
        if kind in ("-damage", "-heal", "-sethp"):
            return self._health(words, tags)
        if kind in ("-boost", "-unboost", "-setboost", "-copyboost", "-swapboost"):
            return self._boosts(kind, words, tags)
        if kind in ("-start", "-end", "-activate", "-singleturn", "-singlemove"):
            return self._effect(kind, words, tags)
        if kind in ("-weather", "-fieldstart", "-fieldend", "-fieldactivate", "-sidestart", "-sideend"):
            return self._field(kind, words, tags)
        if kind in ("-status", "-curestatus", "-item", "-enditem", "-ability"):
            return self._belongings(kind, words, tags)
        return self._course(kind, words, tags)

    def _course(self, kind: str, words: Sequence[str], tags: Mapping[str, str]) -> str:
        """Turns, moves and what comes of them."""
        if kind == "turn":
            return f"Turn {words[0]}"
        if kind == "win":
            return f"{'You' if self._names.get(self._you) == words[0] else words[0]} won the battle."
        if kind in ("-message", "message", "-hint"):
            return words[0]
        if kind in ("c", "chat"):
            return f"{words[0]}: {'|'.join(words[1:])}"
        if kind == "c:":
            return f"{words[1]}: {'|'.join(words[2:])}"
        if kind in ("-miss", "-hitcount", "-block", "move", "cant", "-prepare", "-waiting", "swap"):
            who = self._pokemon(words[0])
        else:
            return ""
        if kind == "move":
            aim = words[2] if len(words) > 2 and _POSITION.match(words[2]) and words[2] != words[0] else ""
            return f"{who} used {words[1]}{f' on {self._pokemon(aim)}' if aim else ''}{_because(tags)}."
        if kind == "cant":
            reason = _plain(words[1])
            told = _CANNOT.get(reason) or (f"cannot use {words[2]}" if len(words) > 2 else "cannot move")
            return f"{who} {told}{'' if reason in _CANNOT else f' ({reason})'}."
        if kind == "-miss":
            missed = f"missed {self._pokemon(words[1])}" if len(words) > 1 and words[1] else "missed"
            return f"{who} {missed}."
        if kind == "-hitcount":
            return f"{who} was hit {words[1]} time{'' if words[1] == '1' else 's'}."
        if kind == "-block":
            return f"{who} blocked it ({_plain(words[1])})."
        if kind == "-prepare":
            return f"{who} is preparing {words[1]}."
        if kind == "swap":
            return f"{who} changed places."
        return f"{who} is waiting for {self._pokemon(words[1])}."

    def _appearance(self, kind: str, words: Sequence[str], tags: Mapping[str, str]) -> str:
        """Pokémon that come in, or change into another."""
        who = self._pokemon(words[0])
        species = words[1].split(", ")[0]
        if kind in ("switch", "drag"):
            self._note(words[0], words[2])
            name = _POSITION.sub("", words[0], count=1)
            called = species if name == species else f"{name} ({species})"
            at = f" at {self._left.get(_key(words[0]), 1.0):.0%}"
            if kind == "drag":
                return f"{who} was dragged out{at}."
            return f"{self._player(words[0])} sent out {called}{at}."
        if kind == "replace":
            return f"It was {species} all along."
        if kind == "-terastallize":
            return f"{who} terastallized into the {words[1]} type."
        if kind == "-mega":
            return f"{who} mega evolved with its {words[2]}."
        if kind == "-transform":
            return f"{who} transformed into {self._pokemon(words[1])}."
        return f"{who} became {species}{_because(tags)}."

    def _health(self, words: Sequence[str], tags: Mapping[str, str]) -> str:
        """HP lost or gained, as a share of the most it can have."""
        before = self._left.get(_key(words[0]))
        left = self._note(words[0], words[1])
        who = self._pokemon(words[0])
        why = _because(tags)
        if before is None or abs(left - before) < 1e-9:
            return f"{who} has {left:.0%} of its HP{why}."
        if left < before:
            return f"{who} lost {max(before - left, 0.01):.0%} of its HP{why}: {_share(left)} left."
        return f"{who} regained {max(left - before, 0.01):.0%} of its HP{why}: {_share(left)}."

    def _boosts(self, kind: str, words: Sequence[str], tags: Mapping[str, str]) -> str:
        who = self._pokemon(words[0])
        if kind in ("-copyboost", "-swapboost"):
            verb = "copied the stat changes of" if kind == "-copyboost" else "swapped stat changes with"
            return f"{who} {verb} {self._pokemon(words[1])}."
        stat, amount = STATS.get(words[1], words[1]), int(words[2])
        if kind == "-setboost":
            return f"{who}'s {stat} is now at {amount:+d}{_because(tags)}."
        if amount == 0:
            return f"{who}'s {stat} cannot go any {'higher' if kind == '-boost' else 'lower'}."
        verb = "rose" if kind == "-boost" else "fell"
        return f"{who}'s {stat} {verb} by {amount}{_because(tags)}."

    def _effect(self, kind: str, words: Sequence[str], tags: Mapping[str, str]) -> str:
        """Effects on one Pokémon that begin, end or do something."""
        if not words[0]:
            return f"{_plain(words[1])}." if len(words) > 1 else ""
        who, effect = self._pokemon(words[0]), _plain(words[1])
        detail = words[2] if len(words) > 2 else ""
        if kind == "-start" and effect == "typechange":
            return f"{who} became {detail.replace('/', ' and ')} type{_because(tags)}."
        if kind == "-start" and effect == "Disable":
            return f"{who}'s {detail} was disabled{_because(tags)}."
        if kind == "-start" and effect.startswith("perish"):
            return f"{who}'s perish count is {effect.removeprefix('perish')}."
        if kind == "-activate" and words[1].startswith("move: ") and effect not in _ACTIVATES:
            return f"{who} was affected by {effect}."
        known = {"-start": _STARTS, "-end": _ENDS, "-activate": _ACTIVATES}.get(kind, _SINGLE_TURNS)
        if effect in known:
            return f"{who} {known[effect]}{_because(tags)}."
        more = f" ({detail})" if detail else ""
        if kind == "-end":
            return f"{who} no longer has {effect}."
        return f"{who}: {effect}{more}."

    def _field(self, kind: str, words: Sequence[str], tags: Mapping[str, str]) -> str:
        """Weather, terrain, and what lies on a side."""
        if kind == "-weather":
            if "upkeep" in tags:
                return ""
            if words[0] == "none":
                return "The weather cleared."
            return f"The weather turned to {WEATHERS.get(words[0], words[0])}{_because(tags)}."
        if kind in ("-sidestart", "-sideend"):
            side = words[0][:2]
            where = "your side" if side == self._you else f"{self._owner(side)} side"
            verb = "was set up on" if kind == "-sidestart" else "ended on"
            return f"{_plain(words[1])} {verb} {where}."
        verb = {"-fieldstart": "now covers the field", "-fieldend": "faded"}.get(kind, "is at work")
        return f"{_plain(words[0])} {verb}{_because(tags)}."

    def _belongings(self, kind: str, words: Sequence[str], tags: Mapping[str, str]) -> str:
        """Status conditions, items and abilities."""
        who, thing = self._pokemon(words[0]), words[1]
        if kind == "-status":
            return f"{who} {_STATUSES.get(thing, f'got {thing}')}{_because(tags)}."
        if kind == "-curestatus":
            return f"{who} was cured of {_CURES.get(thing, thing)}."
        if kind == "-item":
            return f"{who} has {_article(thing)}{_because(tags)}."
        if kind == "-enditem":
            verb = "ate its" if "eat" in tags else "lost its" if "from" in tags else "used up its"
            return f"{who} {verb} {thing}{_because(tags)}."
        return f"{who} has the ability {thing}{_because(tags)}."

    def _note(self, ident: str, condition: str) -> float:
        """Remembers how much HP is left and returns it, from 0 to 1."""
        left, _, most = condition.split(" ")[0].partition("/")
        share = float(left) / float(most) if most and float(most) > 0 else 0.0
        self._left[_key(ident)] = share
        return share

    def _pokemon(self, ident: str) -> str:
        """A Pokémon with its owner: `p1a: Mew` is "Ann's Mew"."""
        if not _POSITION.match(ident):
            return ident
        return f"{self._owner(ident[:2])} {_POSITION.sub('', ident, count=1)}"

    def _owner(self, side: str) -> str:
        if side == self._you:
            return "your"
        return "the foe's" if self._you else f"{self._names.get(side, side)}'s"

    def _player(self, ident: str) -> str:
        return "you" if ident[:2] == self._you else self._names.get(ident[:2], ident[:2])


def _key(ident: str) -> str:
    """A Pokémon of the team, wherever it stands: `p1a: Mew` and `p1b: Mew` are the same."""
    return _POSITION.sub(r"\1 ", ident, count=1)


def _plain(effect: str) -> str:
    """An effect's name without its kind: `move: Reflect` is "Reflect"."""
    kind, colon, name = effect.partition(": ")
    return name if colon and kind in ("move", "ability", "item") else effect


def _because(tags: Mapping[str, str]) -> str:
    cause = _plain(tags.get("from", ""))
    return f" ({_CAUSES.get(cause, cause)})" if cause and cause != "lockedmove" else ""


def _share(left: float) -> str:
    """Some HP is never told as none."""
    return f"{max(left, 0.01):.0%}" if left > 0 else "none"


def _article(thing: str) -> str:
    return f"{'an' if thing[:1] in 'AEIOU' else 'a'} {thing}"
