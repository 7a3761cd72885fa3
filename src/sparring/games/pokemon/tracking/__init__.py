"""The parts of the battle tracker: tables of effects, the view they change, the lines and requests that change it."""
