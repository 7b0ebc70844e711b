"""How a buffer's units are made to exist: pure rules from what is wanted to the objects that should be there."""
