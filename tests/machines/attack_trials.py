"""One attack tried: eight attackers, and what an honest caller sees meanwhile."""

import json
import multiprocessing
import os
import socket
import statistics
import time
import uuid
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field, replace
from http.client import HTTPException, HTTPResponse
from itertools import islice

from tests.machines.attacks import ATTACKS, Attack, Target
from tests.support import bodies

ATTACKERS = 8
PACE_SECONDS = 0.04
# The attackers' process yields to all others: in earnest they would bring their own processors.
LOWEST_PRIORITY = 19

Answers = Counter[str]
NO_ANSWER = (OSError, HTTPException)


class Caller:
    """Sends prepared bytes, and reads a status and a body; a connection is kept if it can be."""

    def __init__(self, target: Target, *, kept: bool = True) -> None:
        self.target, self.kept = target, kept
        self.connection: socket.socket | None = None

    def close(self) -> None:
        if self.connection:
            self.connection.close()
        self.connection = None

    def ask(self, sent: bytes) -> tuple[str, bytes]:
        """Return the answer; NO_ANSWER is raised when there is none."""
        self.connection = self.connection or self.target.connect()
        kept = False
        try:
            with suppress(BrokenPipeError, ConnectionResetError):  # it may have answered before
                self.connection.sendall(sent)
            answer = HTTPResponse(self.connection)
            answer.begin()
            body = answer.read()
            kept = self.kept and not answer.will_close
        finally:
            if not kept:
                self.close()
        return str(answer.status), body


def attack_for(name: str, target: Target, seconds: float) -> Answers:
    """Attack for so long; return how often each status came, and how often none."""
    attack, until = ATTACKS[name], time.monotonic() + seconds
    attack_one = hold_open if attack.holds else send_again_and_again
    if attack.metrics:
        target = replace(target, port=target.metrics_port, certificate="")

    def work(_number: int) -> Answers:
        return attack_one(attack, target, until)

    with ThreadPoolExecutor(ATTACKERS) as pool:
        return sum(pool.map(work, range(ATTACKERS)), Counter())


def send_again_and_again(attack: Attack, target: Target, until: float) -> Answers:
    answers: Answers = Counter()
    with closing(Caller(target)) as caller:
        for sent in attack.requests(target):
            # The attackers have the lowest priority: on a busy machine, the first may be late.
            if answers and time.monotonic() > until:
                break
            try:
                answers[caller.ask(sent)[0]] += 1
            except NO_ANSWER:
                answers["none"] += 1
    return answers


def hold_open(attack: Attack, target: Target, until: float) -> Answers:
    with ExitStack() as stack:
        for sent in islice(attack.requests(target), attack.holds):
            # nginx limits what an address has under way.
            connection = stack.enter_context(target.connect(receive=2048, address="127.0.0.2"))
            connection.sendall(sent)
        time.sleep(max(0, until - time.monotonic()))
    return Counter({"held": attack.holds})


@dataclass
class Seen:
    """What an honest caller saw: seconds that its answers took, and its errors."""

    waits: list[float] = field(default_factory=list)
    errors: Answers = field(default_factory=Counter)

    @property
    def slowest(self) -> float:
        return max(self.waits)

    @property
    def median(self) -> float:
        return statistics.median(self.waits)

    def __str__(self) -> str:
        errors = "".join(f", {number} × {status}" for status, number in self.errors.items())
        return f"{self.median * 1000:.1f} / {self.slowest * 1000:.0f} ms{errors}"


def honest(target: Target, seconds: float) -> Seen:
    """Create a cart and read it, over and over, with a pause between any two requests."""
    owner = replace(target, profile=uuid.uuid4(), signing={**target.signing, "sub": "honest"})
    create = owner.post(bodies.cart(items=3, options=2))
    seen, sent, began = Seen(), create, time.monotonic()
    with closing(Caller(target)) as caller:
        while time.monotonic() - began < seconds:
            asked_at = time.monotonic()
            try:
                status, body = caller.ask(sent)
            except NO_ANSWER as error:
                status, body = type(error).__name__, b""
            took = time.monotonic() - asked_at
            seen.waits.append(took)
            if status == "200" and sent is create:
                sent = owner.get(f"/{json.loads(body)['data']['cartId']}")
            else:
                sent = create
            if status != "200":
                seen.errors[status] += 1
            time.sleep(max(0, PACE_SECONDS - took))
    return seen


def try_attack(name: str, target: Target, seconds: float) -> tuple[Seen, Answers]:
    """Attack for so long. Return what an honest caller saw, and the attackers' answers."""
    # Forked before any thread is there, and not within the honest caller's time.
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        pool.submit(os.nice, LOWEST_PRIORITY).result()
        attack = pool.submit(attack_for, name, target, seconds + 0.5)
        time.sleep(0.5)
        return honest(target, seconds), attack.result()
