// Pictures that nobody sees need not follow each step: they are drawn when they come into sight.

const MARGIN = "250px";

/** A way to ask for `draw`: at once where the element is in sight, else as soon as it is. */
export function whenSeen(element: Element, draw: () => void): () => void {
  let isSeen = true;
  let isOld = false;
  const catchUp = () => {
    if (!isOld) return;
    isOld = false;
    draw();
  };
  new IntersectionObserver(
    (entries) => {
      isSeen = entries[entries.length - 1]!.isIntersecting;
      if (isSeen) catchUp();
    },
    { rootMargin: MARGIN },
  ).observe(element);
  addEventListener("beforeprint", catchUp);
  return () => {
    if (isSeen) draw();
    else isOld = true;
  };
}
