"""The papers' algorithms as they are in print, each in a file to be read beside its paper.

They are backends like the others, and the certificate says what their answers are worth; but nothing takes
them unless they are named. `kl_admm` is Hu & Kwok (2013), `bcdkl` Hu & Kwok (2015), `bcd_npkl` the baseline
of that paper, `simple_npkl` Zhuang, Tsang & Hoi (2011), `sqlp` Wu (2011).
"""
