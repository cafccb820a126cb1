"""EASY backfilling: only the first waiting job holds a reservation (Lifka 1995).

    ductile simulate --generate rigid --policy python:examples/python/easy.py:Easy
"""


class Easy:
    def schedule(self, view):
        # In order, while the first one fits.
        for head in view.queue:
            if not view.try_start(head):
                break
        else:
            return
        # The head is reserved at its earliest time; others may start where they do not delay it.
        if view.idle:
            for job in view.shadow(head).fitting():
                view.start(job)
