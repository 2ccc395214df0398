"""The daemon: supervisor of the actors, router of calls, keeper of sessions. It owns no database and runs no solver."""
