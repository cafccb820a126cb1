"""Malleable EASY backfilling as the built-in `mebf` does it, on a machine without partitions
("Performance-driven scheduling for malleable workloads", J. Supercomputing 2024; docs/policies.md).

    ductile simulate --generate rigid --malleable 0.5 --policy python:examples/python/mebf.py:Mebf
"""

import math


class Mebf:
    start_size = "smallest"
    answers_requests = True
    wakes_on_answers = False

    def __init__(self, expand="handoff", gap="basic", tick=30, share_factor=0.4, theta=0.5, gamma=2,
                 spare_ratio=0.5, max_reconf_for_shrink=1):
        self.expand, self.gap, self.tick = expand, gap, tick
        self.share_factor, self.theta, self.gamma = share_factor, theta, gamma
        self.spare_ratio, self.max_reconf_for_shrink = spare_ratio, max_reconf_for_shrink

    def schedule(self, view):
        view.tick(self.tick)
        view.grant_from_idle()
        self.serve(view)
        head = view.queue.first
        if head is None:
            self.grow(view)
        elif view.free_nodes == 0:
            self.shrink(view, head)
        elif not self.backfill(view, head):
            if self.gap == "shrink+":
                self.shrink(view, head)
            elif self.gap == "expand+":
                self.grow(view)

    def serve(self, view):
        """In order, at the preferred size or at what there is."""
        for job in view.queue:
            nodes = self.fitting(job, view.free_nodes)
            if nodes == 0 or not view.try_start(job, nodes, incoming=True):
                return

    def fitting(self, job, free):
        """The preferred size, or as much as there is; 0: that is too little."""
        if job.preferred <= free:
            return job.preferred
        nodes = job.at_most(free)
        return nodes if nodes >= least(job) else 0

    def backfill(self, view, head):
        """The others, where they do not delay the first one. Did any start?"""
        if view.idle == 0:
            return False
        plan = view.shadow(head, least(head))
        found = False
        for job in view.queue:
            if job == head or job.smallest > view.idle:
                continue
            nodes = self.fitting(job, view.idle)
            if plan.fits_now(job, nodes):
                view.start(job, nodes)
                found = True
        return found

    def shrink(self, view, head):
        """The least scalable ones give, and the queue is served once more."""
        need = least(head) - view.free_nodes
        victims = [job for job in view.running_malleable if job.resizable
                   and job.expands + job.shrinks < self.max_reconf_for_shrink]
        victims.sort(key=lambda job: (-scalability(job), -job.nodes, job.id))
        for job in victims:
            if need <= 0:
                break
            share = math.floor(self.share_factor * job.nodes)
            nodes = job.at_least(max(job.nodes - share, job.smallest))
            if nodes < job.nodes and self.is_feasible(view, job, nodes):
                need -= job.nodes - nodes
                view.resize(job, nodes, because_of=head)
        self.serve(view)

    def grow(self, view):
        """The most scalable ones take what is free."""
        takers = [job for job in view.running_malleable if job.resizable and job.nodes < job.max]
        takers.sort(key=lambda job: (scalability(job), job.nodes, job.id))
        for job in takers:
            if view.free_nodes == 0:
                return
            nodes = self.grown(job, view.free_nodes)
            if nodes > job.nodes and self.is_feasible(view, job, nodes):
                view.resize(job, nodes, incoming=True)

    def grown(self, job, free):
        most = job.at_most(min(job.max, job.nodes + free))
        more = most - job.nodes
        if self.expand == "handoff":
            return most if more > job.nodes else job.nodes
        if self.expand == "spare":
            kept = math.ceil(self.spare_ratio * job.nodes)
            if more <= self.spare_ratio * job.nodes or free <= kept:
                return job.nodes
            return job.at_most(min(most, job.nodes + free - kept))
        return most

    def is_feasible(self, view, job, nodes):
        whole = job.estimate(job.first_size)
        left = round(job.expected_end - view.now, 6)
        total = round(job.expected_end_at(nodes) - job.started + job.resize_cost(nodes), 6)
        return (left >= self.theta * whole and total <= self.gamma * whole
                and (nodes < job.nodes or view.may_expand(job, nodes, incoming=True)))


def least(job):
    """The smallest size at which it starts: its preferred one may be none of those it has later."""
    return min(job.smallest, job.preferred)


def scalability(job):
    """The exponent rho of the power law T(n) ~ n^(rho - 1) through its times at its size and twice
    that, as a whole number, so that the last bit of a logarithm does not tell jobs apart."""
    return round((1 + math.log2(job.speed(job.nodes) / job.speed(2 * job.nodes))) * 2**30)
