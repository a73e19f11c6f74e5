// What each variant of linking tries: to open a port, and to dial it.
#pragma once

/// Prints "listens" and "connects", or the error of each. Visible, so that a program may call it in a plugin.
extern "C" __attribute__((visibility("default"))) void try_ports();
