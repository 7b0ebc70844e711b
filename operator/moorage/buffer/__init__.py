"""How much warm capacity is wanted: pure rules over plain values."""
