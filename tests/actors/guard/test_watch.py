"""Liveness by progress, on a simulated clock."""

import random

from actors.guard.watch import Observation, Patience, Watch


class Simulation:
    """A server observed once a second; what it does is a function of the time."""

    def __init__(self, **patience):
        self.watch = Watch(Patience(**patience), 0.0)
        self.now = 0.0
        self.cpu_s = 0.0
        self.verdicts = []
        self.look(health=200, busy=False, counter=0)

    def look(self, *, cpu=0.0, step_s=1.0, **seen):
        self.now += step_s
        self.cpu_s += cpu * step_s
        given = {"health": 200} | seen
        judgement = self.watch.judge(Observation(at=self.now, cpu_s=self.cpu_s, **given))
        self.verdicts.append(judgement.verdict)
        return judgement.verdict

    def until_stuck(self, limit_s=120, **seen):
        started = self.now
        while self.now - started < limit_s:
            if self.look(**seen) == "stuck":
                return self.now - started
        return None


def test_a_stall_behind_a_green_health_is_found_within_fifteen_seconds():
    for on_gpu in (True, False):
        sim = Simulation(on_gpu=on_gpu)
        for n in range(20):
            sim.look(busy=True, counter=n, decoded=n, cpu=0.9)
        assert sim.until_stuck(busy=True, counter=19, decoded=19) <= 15


def test_a_server_whose_slots_fall_silent_while_it_serves_is_found_within_fifteen_seconds():
    sim = Simulation(on_gpu=False)
    for n in range(20):
        sim.look(busy=True, counter=n, decoded=n, cpu=0.9)
    assert sim.until_stuck(busy=None, counter=None, cpu=0.0, step_s=3.0) <= 15


def test_a_driver_that_spins_on_a_lost_gpu_is_found_within_fifteen_seconds():
    sim = Simulation(on_gpu=True)
    for n in range(5):
        sim.look(busy=True, counter=n, decoded=n + 1, cpu=1.0)
    assert sim.until_stuck(busy=True, counter=4, decoded=5, cpu=1.0) <= 15


def test_a_gpu_that_works_is_believed_and_one_that_stops_is_not():
    sim = Simulation(on_gpu=True)
    for n in range(600):
        assert sim.look(busy=True, counter=0, decoded=0, engine_ns=n * 10**9) != "stuck"
    assert sim.until_stuck(busy=True, counter=0, decoded=0, engine_ns=599 * 10**9) <= 15


def test_an_hour_of_slow_decoding_and_long_prefill_gives_no_false_alarm():
    seed = random.randrange(1 << 32)
    print("seed", seed)
    chance = random.Random(seed)
    sim, counter = Simulation(on_gpu=False), 0
    while sim.now < 3_600:
        for _ in range(chance.randint(60, 900)):  # a prefill of 1 to 15 minutes on the CPU, no counter moves
            assert sim.look(busy=True, counter=counter, decoded=0, cpu=chance.uniform(0.2, 2.0)) in {"busy", "slow"}
        for token in range(chance.randint(20, 60)):  # 2 to 9 s a token on starved cores
            for _ in range(chance.randint(2, 9)):
                verdict = sim.look(busy=True, counter=counter, decoded=token, cpu=chance.uniform(0.2, 2.0))
                assert verdict in {"busy", "slow", "suspect"}
            counter += 1
    assert "slow" in sim.verdicts


def test_an_hour_of_silence_during_a_cpu_prefill_is_busy_not_hung():
    sim = Simulation(on_gpu=False)
    for _ in range(1_200):
        assert sim.look(health=None, busy=None, counter=None, cpu=1.5, step_s=3.0) == "busy"


def test_slow_steps_seen_before_lengthen_the_patience():
    sim, counter = Simulation(on_gpu=True), 0
    for _ in range(6):
        for _ in range(8):
            assert sim.look(busy=True, counter=counter, decoded=counter) != "stuck"
        counter += 1
    assert 20 < sim.until_stuck(busy=True, counter=counter - 1, decoded=5) <= 40


def test_an_idle_server_is_ready_for_ever():
    sim = Simulation()
    assert {sim.look(busy=False, counter=7) for _ in range(5_000)} == {"ready"}


def test_a_server_without_slots_and_metrics_is_judged_by_its_processor():
    sim = Simulation(on_gpu=False)
    assert {sim.look(blind=True) for _ in range(100)} <= {"ready", "busy"}
    assert sim.look(blind=True, cpu=1.0) == "busy"
    assert sim.look(blind=True, cpu=0.0, step_s=3) == "ready"


def test_loading_has_its_own_clock():
    watch = Watch(Patience(load_s=300), 0.0)
    for n in range(1, 300):
        assert watch.judge(Observation(at=n, health=503 if n > 100 else 0)).verdict == "loading"
    assert watch.judge(Observation(at=301, health=503)).verdict == "stuck"


def test_another_server_at_the_port_is_foreign_even_while_ours_loads():
    watch = Watch(Patience(), 0.0)
    assert watch.judge(Observation(at=1, health=200, ours=False)).verdict == "foreign"


def test_a_probe_that_fails_on_an_idle_server_is_proof_and_on_a_working_one_is_not():
    sim = Simulation(on_gpu=False)
    for _ in range(30):
        sim.look(busy=False, counter=0)
    assert sim.look(busy=False, counter=0, probe=False) == "stuck"
    sim = Simulation(on_gpu=False)
    for n in range(30):
        sim.look(busy=True, counter=n, decoded=n, cpu=1.0)
    assert sim.look(busy=True, counter=30, decoded=30, cpu=1.0, probe=False) == "suspect"


def test_time_that_the_machine_or_the_guard_slept_is_not_held_against_the_server():
    sim = Simulation(on_gpu=False)
    sim.look(busy=True, counter=1, decoded=1)
    assert sim.look(busy=True, counter=1, decoded=1, step_s=3_600) == "busy"
    assert sim.look(busy=True, counter=1, decoded=1, step_s=2) == "busy"
    sim.watch.resumed(sim.now)
    assert sim.until_stuck(busy=True, counter=1, decoded=1) <= 15


def test_the_rate_is_tokens_per_second_of_the_running_request():
    sim = Simulation()
    for n in range(10):
        sim.look(busy=True, counter=n, decoded=3 * n)
    assert round(sim.watch.tokens_per_s, 3) == 3.0
