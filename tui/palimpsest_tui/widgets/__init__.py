"""Line-API widgets: each draws one thing and tells in messages what a person did with it."""
