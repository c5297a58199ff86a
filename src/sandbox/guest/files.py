"""Copies files into the machine and out of it."""
import errno
import os
import shutil
import stat

CHUNK = 2 ** 20


class Files:
    def __init__(self, reply):
        self.reply = reply
        self.files = {}

    def make_folder(self, request, _):
        path = request["path"]
        if request["replace"] and not os.path.ismount(path):
            remove(path)
        os.makedirs(path, exist_ok=True)
        self.reply(request["id"])

    def create_file(self, request, _):
        path = request["path"]
        os.makedirs(os.path.dirname(path), exist_ok=True)
        remove(path)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(path, flags, request["mode"])
        self.files[request["id"]] = file
        self.reply(request["id"])

    def write_data(self, request, content):
        left = memoryview(content)
        file = self.files[request["file"]]
        try:
            while left:
                left = left[os.write(file, left):]
        except OSError:
            os.close(self.files.pop(request["file"]))
            raise
        self.reply(request["id"])

    def finish_file(self, request, _):
        os.close(self.files.pop(request["file"]))
        self.reply(request["id"])

    def fetch(self, request, _):
        """Sends a regular file that is not reached through a link. Otherwise replies with size null."""
        file = open_without_links(request["path"])
        if file is None:
            return self.reply(request["id"], size=None, last=True)
        try:
            size = os.fstat(file).st_size
            if size > request["most"]:
                return self.reply(request["id"], size=size, last=True)
            left = size
            while left > 0:
                data = os.read(file, min(left, CHUNK))
                if not data:
                    break
                left -= len(data)
                self.reply(request["id"], size=size, last=False, body=data)
            self.reply(request["id"], size=size, last=True)
        finally:
            os.close(file)


def open_without_links(path):
    names = [name for name in path.split("/") if name]
    folder = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name in names[:-1]:
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = below
        # Without O_NONBLOCK, opening a pipe without a writer would block forever.
        file = os.open(names[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ENOMEM, errno.EMFILE, errno.ENFILE):
            raise
        return None
    finally:
        os.close(folder)
    if stat.S_ISREG(os.fstat(file).st_mode):
        return file
    os.close(file)
    return None


def remove(path):
    try:
        if stat.S_ISDIR(os.lstat(path).st_mode):
            shutil.rmtree(path)
        else:
            os.remove(path)
    except FileNotFoundError:
        pass
