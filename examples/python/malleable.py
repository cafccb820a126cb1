"""A malleable policy: jobs start on as few nodes as they can, the first waiting job takes nodes from
running ones, and what is idle when nobody waits is handed out.

    ductile simulate --generate rigid --malleable 0.5 --policy python:examples/python/malleable.py:Malleable
"""


class Malleable:
    start_size = "smallest"
    answers_requests = True

    def __init__(self, depth=1):
        self.depth = depth

    def schedule(self, view):
        view.grant_from_idle()
        view.start_and_backfill(self.depth)
        head = view.queue.first
        if head is None:
            self.grow(view)
        else:
            self.cut_for(view, head)

    def cut_for(self, view, head):
        """Those that have most beyond their smallest size give first."""
        lacking = head.nodes - view.free_for(head)
        givers = sorted((job for job in view.running_malleable if job.cuttable and job.extra > 0),
                        key=lambda job: (-job.extra, job.number))
        cuts = view.cuts_for(givers, max(lacking, 0), whom=head)
        if cuts is not None:
            view.try_start(head, cuts=cuts, incoming=True)

    def grow(self, view):
        """Those that end last get first."""
        takers = [job for job in view.running_malleable if job.growable and job.nodes < job.max]
        view.hand_out_idle(sorted(takers, key=lambda job: (-job.expected_end, job.number)))
