"""What runs on the far side of the wall: the zygote and the children that it forks.

Only the standard library and ``sandbox.encoding`` may be imported here: the zygote is started
without site packages, forgets these modules once it holds their functions, and every page that it
owns is a page that each program's fork may have to copy.
"""
