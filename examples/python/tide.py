"""Liquid backfilling as the built-in `tide` does it, on a machine without partitions: a node belongs
where it buys the most work (docs/tide.md, docs/policies.md).

    ductile simulate --generate rigid --malleable 0.5 --policy python:examples/python/tide.py:Tide
"""

import math


class Worth:
    """What nodes are worth to a running job. It is made anew for each pass."""

    def __init__(self, job, now, exponent):
        self.job = job
        left = job.expected_end_at(job.preferred) - now
        self.left_s = max(round(left, 6), round(now - job.started, 6) / 10, 1)
        self.weight = math.exp(-exponent * math.log(self.left_s))

    def left(self, nodes):
        return self.left_s / self.job.speed(nodes)

    def of_node(self, before, after):
        job = self.job
        return self.weight * (job.speed(after) - job.speed(before)) / (after - before)


class Tide:
    order = "area"
    start_size = "smallest"
    answers_requests = True
    wakes_on_answers = False

    def __init__(self, wait_for=3, moldable=2, step=2, gain=0.05, exponent=0.7, pays=10,
                 least_cost=20, moves=4):
        self.wait_for, self.moldable, self.moves = wait_for, moldable, moves
        self.step, self.gain, self.exponent = step, gain, exponent
        self.pays, self.least_cost = pays, least_cost

    def schedule(self, view):
        self.answer(view)
        head = self.serve(view)
        plan = self.backfill(view, head) if head is not None and view.idle else None
        if view.idle:
            self.hand_out(view, plan)
            if "ended" in view.woken_by:
                self.rebalance(view)

    def worth(self, view, job):
        return Worth(job, view.now, self.exponent)

    def pays_s(self, job, nodes):
        """What a resize has to win, in seconds."""
        return self.pays * max(job.resize_cost(nodes), self.least_cost)

    # 1. Evolving requests: all that is asked for, else the least that is taken.

    def answer(self, view):
        while view.requests:
            request = max(view.requests, key=lambda each: each.job.priority)
            amounts = [max(request.delta, 0)]
            if 0 < request.at_least < request.delta:
                amounts.append(request.at_least)
            for nodes in amounts:
                cuts = self.cuts(view, request.job, nodes)
                if cuts is not None and view.try_grant(request, cuts=cuts, incoming=True,
                                                       extra_is_free=True):
                    break
            else:
                view.deny(request)

    def cuts(self, view, whom, nodes):
        """Those that lose the least of each node give what is missing; None if they cannot."""
        missing = nodes - view.free_for(whom)
        if missing <= 0:
            return []

        def loss(job):
            return self.worth(view, job).of_node(job.nodes, job.nodes - min(missing, job.extra))

        victims = [job for job in view.running_malleable
                   if job.cuttable and job.extra > 0 and job != whom]
        victims.sort(key=lambda job: (loss(job), job.id))
        return view.cuts_for(victims, missing, whom=whom)

    # 2. In order, on free nodes, or on those that cuts give.

    def serve(self, view):
        for job in view.queue:
            cuts = self.cuts(view, job, job.nodes)
            if cuts is None:
                return job
            within = self.wait_for * sum(each.resize_cost(nodes) for each, nodes in cuts)
            if cuts and view.timeline().earliest(job) <= view.now + within:
                return job
            reason = "shrunk-for" if cuts else "in-order"
            if not view.try_start(job, cuts=cuts, incoming=True, reason=reason, because_of=job):
                return job
        return None

    # 3. and 4. The first one is reserved, others start where that does not delay it.

    def backfill(self, view, head):
        plan = view.timeline(extra_is_free=True)
        plan.reserve(head)
        for job in plan.fitting():
            view.start(job)
        return plan

    # 5. What is idle goes where it is worth the most, in steps.

    def hand_out(self, view, plan):
        started = {job.id for job in view.started}
        takers = [job for job in view.running_malleable if job.growable]
        takers += [job for job in view.started if job.type == "moldable"]
        takers.sort(key=lambda job: job.id)
        worth = {job.id: self.worth(view, job) for job in takers}
        size = {job.id: job.nodes for job in takers}
        takers = [job for job in takers if job.id in started
                  or worth[job.id].left(job.nodes) > self.pays_s(job, job.nodes + 1)]
        idle = view.idle
        while takers:
            while idle:
                steps = []
                for job in takers:
                    before = size[job.id]
                    after = self.next_size(job, before, self.room(job, before, idle, plan, view))
                    if after > before:
                        steps.append((-worth[job.id].of_node(before, after), job.id, job, after))
                if not steps:
                    break
                _, _, job, after = min(steps)
                more = after - size[job.id]
                if plan and job.type == "moldable":
                    plan.hold(job, more, self.held(job, size[job.id], view))
                size[job.id] = after
                idle -= more
            takers, refused = [], takers
            for job in refused:
                before, after = job.nodes, size[job.id]
                its = worth[job.id]
                if after == before or job.id in started or (
                        its.left(before) - its.left(after) > self.pays_s(job, after)
                        and view.may_expand(job, after)):
                    takers.append(job)
                else:
                    idle += after - before
                    size[job.id] = before
            if len(takers) == len(refused):
                break
        for job in takers:
            if size[job.id] > job.nodes:
                view.resize(job, size[job.id])

    def room(self, job, nodes, idle, plan, view):
        """How large it may become now."""
        if job.type != "moldable":
            return min(job.max, nodes + idle)
        if plan:
            idle = min(idle, plan.free_for(job, self.held(job, nodes, view)))
        return min(job.max, math.floor(self.moldable * job.preferred), nodes + idle)

    def held(self, job, nodes, view):
        return round(job.expected_end_at(nodes) - view.now, 6)

    def next_size(self, job, nodes, most):
        after = job.at_least(nodes + max(1, math.floor(self.step * nodes)))
        if after == 0 or after > most:
            after = job.at_most(most)
        is_faster = after > nodes and job.speed(after) >= job.speed(nodes) * (1 + self.gain)
        return after if is_faster else nodes

    # 6. Nodes move to where they are worth more.

    def rebalance(self, view):
        for _ in range(self.moves):
            holders = sorted(view.running_malleable, key=lambda job: job.id)
            steps = []
            for job in holders:
                if job.growable and not job.is_busy:
                    after = self.next_size(job, job.nodes, job.max)
                    if after > job.nodes:
                        value = self.worth(view, job).of_node(job.nodes, after)
                        steps.append((-value, job.id, job, after))
            if not steps:
                return
            value, _, taker, after = min(steps)
            more = after - taker.nodes
            givers = []
            for job in holders:
                rest = job.nodes - more
                if job != taker and job.cuttable and job.extra >= more and job.at_most(rest) == rest:
                    loss = self.worth(view, job).of_node(job.nodes, rest)
                    if loss < -value:
                        givers.append((loss, job.id, job, rest))
            if not givers:
                return
            _, _, giver, rest = min(givers)
            cuts = [(giver, rest)]
            if not (self.wins(view, taker, after, giver, rest)
                    and view.may_expand(taker, after, cuts=cuts)
                    and view.try_resize(taker, after, cuts=cuts)):
                return

    def wins(self, view, taker, after, giver, rest):
        its, others = self.worth(view, taker), self.worth(view, giver)
        won = its.left(taker.nodes) - its.left(after)
        slower = 1 - giver.speed(rest) / giver.speed(giver.nodes)
        lost = min(others.left(rest) - others.left(giver.nodes), its.left(after) * slower)
        cost = self.pays_s(taker, after) + self.pays_s(giver, rest)
        return won - lost > cost and won - lost > won / 10
