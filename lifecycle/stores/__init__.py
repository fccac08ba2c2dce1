"""Stores: where entries are kept. Each is one room that stands on the law alone and holds no rule of the lifecycle."""
