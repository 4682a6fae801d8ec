"""The Jupyter Server extension: REST, one stream and the panels on Jupyter's own origin. Its door is `extension`."""
