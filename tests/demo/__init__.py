"""The main job of Moorage on a real control plane, shown like a session in a terminal."""
