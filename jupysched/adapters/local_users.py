"""Who is who on this machine, from the system's user database."""

from __future__ import annotations

import grp
import os
import pwd
from collections.abc import Sequence


class LocalUsers:
    """ports.Directory over pwd and grp."""

    def __init__(self, *, admin_groups: Sequence[str] = (), owner_is_admin: bool = True) -> None:
        """`owner_is_admin`: who runs the daemon may do everything (a personal daemon)."""
        self._admin_groups = tuple(admin_groups)
        self._owner = os.getuid() if owner_is_admin else 0

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
        """root, the daemon's own user where that is the only one, members of the admin groups."""
        return uid in (0, self._owner) or any(g in self._admin_groups for g in self.groups(uid))
