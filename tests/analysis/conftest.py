from hypothesis import settings

settings.register_profile("untimed", deadline=None)  # the machine may be busy
settings.load_profile("untimed")
