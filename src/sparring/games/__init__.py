"""One folder a game: rules, encoding, players, network and presets. Nothing outside it knows the game."""
