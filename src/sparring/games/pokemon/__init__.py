"""Pokémon: the real Showdown rules without the server, singles and doubles, in any Showdown format."""
