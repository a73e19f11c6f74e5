// What the precompiled header of the tests is compiled for.
