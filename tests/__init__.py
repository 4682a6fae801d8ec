"""The tests, which mirror the house: a folder for each of its rooms, and house/ for the house itself."""
