"""The words everyone speaks: messages, contract, envelope, errors, limits, endpoints, client.

Nothing is imported here, so that a light process pays only for what it uses.
"""
