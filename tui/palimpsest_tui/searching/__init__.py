"""What a person types into the search bar and what it asks for. Pure."""
