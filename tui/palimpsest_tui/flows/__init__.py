"""What a person does, one flow a file: each joins widgets, jobs and the engine for one purpose."""
