"""What is said of a name that is not known: what was meant, or what there is."""

from sparring.core import closest, did_you_mean, instead

FEW = ["random", "path"]
MANY = [f"{game}-{number}" for game in ("hex", "rocket") for number in range(10)]


def test_a_name_is_found_by_its_likeness_or_by_the_initials_of_its_words():
    assert closest("pth", FEW) == "path"
    assert closest("lr", ["learner", "learning_rate"]) == "learning_rate"
    assert closest("l", ["learner", "learning_rate"]) is None
    assert did_you_mean("xyz", FEW) == ""


def test_a_few_names_are_all_told():
    assert instead("pth", FEW, label="there are") == " (did you mean 'path'?); there are: random, path"
    assert instead("xyz", FEW, see="sparring games") == "; allowed: random, path"


def test_of_many_names_the_near_ones_are_told_and_where_the_others_are():
    assert instead("hex-33", MANY, see="sparring presets") == " (did you mean 'hex-3'?); see: sparring presets"
    assert instead("xyz", MANY, see="sparring presets") == "; see: sparring presets"
    assert instead("he", MANY, see="sparring presets") == "; near: hex-9, hex-8, hex-7; see: sparring presets"


def test_many_names_that_nothing_else_lists_are_all_told():
    assert instead("xyz", MANY).count(",") == len(MANY) - 1
