"""Private policies for real users: exact noise that is drawn once and stored before anything depends on it.

`Session` is a learner whose users trust the server. Under local privacy the learner has two halves: one of four
clients, such as `Client`, and `Server`. Unlike the rest of `bandits` this package uses files and the random generator
of the operating system (docs/deploy.md).
"""

from bandits.deploy.clients import Client, LaplaceClient, TruncatingClient, TruncatingLaplaceClient
from bandits.deploy.journal import JournalError
from bandits.deploy.local import Server
from bandits.deploy.session import Session
from bandits.deploy.spending import Spent, on_disjoint_users, on_same_users
from bandits.deploy.tickets import Outcome, Ticket

__all__ = [
    "Client",
    "JournalError",
    "LaplaceClient",
    "Outcome",
    "Server",
    "Session",
    "Spent",
    "Ticket",
    "TruncatingClient",
    "TruncatingLaplaceClient",
    "on_disjoint_users",
    "on_same_users",
]
