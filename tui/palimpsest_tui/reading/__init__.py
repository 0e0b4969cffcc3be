"""How an event is made readable: text to lines, pure, in a worker; the inspector only draws the lines it shows."""
