"""The worker: an agent that can be given work by something that knows nothing about it.

Seven exchanges, a closed set: are you free, what would this take, will you take it, how is it going, what came of it, what do
you need, stop. A worker is a Python function (`Local`), or any program that speaks JSON lines on stdio (`Pipe` asks, `serve`
answers). `lifecycle.worker.http` puts the same exchanges behind HTTP.
"""

from lifecycle.worker.frames import (
    DEADLINE,
    EXCHANGES,
    FRAME,
    VERSION,
    Answer,
    Ask,
    BadFrame,
    Called,
    Came,
    Can,
    Cannot,
    CannotTell,
    Exchange,
    Free,
    Given,
    Look,
    Needs,
    Reply,
    Status,
    Stopped,
    Taken,
    Task,
    Tool,
)
from lifecycle.worker.journal import Journal
from lifecycle.worker.pipe import Pipe
from lifecycle.worker.port import Local, Worker, WorkerError
from lifecycle.worker.serving import CallRefused, Desk, Served, Stop, TimeUp
from lifecycle.worker.stdio import on_stdio, serve

__all__ = [
    "DEADLINE",
    "EXCHANGES",
    "FRAME",
    "VERSION",
    "Answer",
    "Ask",
    "BadFrame",
    "CallRefused",
    "Called",
    "Came",
    "Can",
    "Cannot",
    "CannotTell",
    "Desk",
    "Exchange",
    "Free",
    "Given",
    "Journal",
    "Local",
    "Look",
    "Needs",
    "Pipe",
    "Reply",
    "Served",
    "Status",
    "Stop",
    "Stopped",
    "Taken",
    "Task",
    "TimeUp",
    "Tool",
    "Worker",
    "WorkerError",
    "on_stdio",
    "serve",
]
