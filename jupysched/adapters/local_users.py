"""Who is who on this machine, from the system's user database."""

from __future__ import annotations

import grp
import os
import pwd
from collections.abc import Sequence


class LocalUsers:
    """ports.Directory over pwd and grp."""

    def user_name(self, uid: int) -> str:
        """The login name; 'uid 1234' for a uid that the system does not know."""
        try:
            return pwd.getpwuid(uid).pw_name
        except KeyError:
            return f"uid {uid}"

    def groups(self, uid: int) -> Sequence[str]:
        """Names of the user's groups, the primary one first."""
        try:
            person = pwd.getpwuid(uid)
        except KeyError:
            return ()
        names = []
        for gid in os.getgrouplist(person.pw_name, person.pw_gid):
            try:
                names.append(grp.getgrgid(gid).gr_name)
            except KeyError:
                names.append(str(gid))
        return tuple(names)

    def is_admin(self, uid: int) -> bool:
        """Root and the daemon's own user."""
        return uid in (0, os.getuid())
