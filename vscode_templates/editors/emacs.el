;; dualdbg with dape (Emacs 29.1 or later): M-x dape, then dualdbg, dualdbg-break or dualdbg-attach.
(with-eval-after-load 'dape
  (let ((common '(modes (python-mode python-ts-mode c-mode c-ts-mode c++-mode c++-ts-mode)
                  command "@command@"
                  command-args ("@args@")
                  :type "dualdbg")))
    (dolist (each `((dualdbg
                     ,@common
                     :request "launch"
                     :program dape-buffer-default
                     :cwd dape-cwd)
                    (dualdbg-break
                     ,@common
                     :request "launch"
                     :program dape-buffer-default
                     :cwd dape-cwd
                     :breakpoints ["randn"])
                    (dualdbg-attach
                     ,@common
                     :request "attach"
                     :processId ,(lambda () (read-number "Process id: ")))))
      (setf (alist-get (car each) dape-configs) (cdr each)))))
